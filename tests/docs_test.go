package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every proof that the README names is there.
func TestReadmeNamesTestsThatExist(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`).FindAllStringSubmatch(string(readme), -1)
	if len(links) < 10 {
		t.Fatalf("only %d proofs are named", len(links))
	}
	for _, link := range links {
		source, err := os.ReadFile(filepath.Join("..", link[2]))
		if err != nil || !strings.Contains(string(source), "func "+link[1]+"(") {
			t.Errorf("%s is not in %s: %v", link[1], link[2], err)
		}
	}
}
