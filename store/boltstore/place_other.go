//go:build !linux

package boltstore

import "errors"

// errQuota is part of what ENOSPC says elsewhere.
var errQuota = errors.New("no quota")

// networkFileSystem and lockHolder: only Linux tells.
func networkFileSystem(string) string { return "" }

func lockHolder(string) string { return "" }
