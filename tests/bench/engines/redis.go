//go:build linux

package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// redisStore is a Redis of its own that answers when its log is on disk.
type redisStore struct {
	client *redis.Client
	server *server
}

func openRedis(dir string) (work.Store, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("redis-server is not installed")
	}
	socket := filepath.Join(dir, "s")
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 64, MinIdleConns: 64, MaxRetries: -1})
	server, err := startServer(exec.Command(path, "--port", "0", "--unixsocket", socket, "--dir", dir,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no"),
		func() error { return client.Ping(context.Background()).Err() })
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &redisStore{client, server}, nil
}

func (s *redisStore) Claim(_ int, n uint64) (func() error, error) {
	ctx, d := context.Background(), work.AsStored(n)
	key := string(d.Key)
	fresh, err := s.client.SetNX(ctx, key, d.Claimed, 0).Result()
	if err != nil {
		return nil, err
	}
	if !fresh {
		return nil, errThere(d)
	}
	return func() error {
		there, err := s.client.SetXX(ctx, key, d.Settled, 0).Result()
		if err == nil && !there {
			err = errors.New("the claim is gone")
		}
		return err
	}, nil
}

func (s *redisStore) Close() error {
	return errors.Join(s.client.Close(), s.server.stop(syscall.SIGTERM))
}
