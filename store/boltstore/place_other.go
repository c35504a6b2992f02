//go:build !linux

package boltstore

import (
	"errors"
	"os"
)

// errQuota is part of what ENOSPC says elsewhere.
var errQuota = errors.New("no quota")

// What follows only Linux tells so simply.
func networkFileSystem(string) string { return "" }

func freeSpace(*os.File) (int64, bool) { return 0, false }

func lockHolder(string) string { return "" }
