package boltstore

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errQuota: the user's share of the disk is used up.
const errQuota = syscall.EDQUOT

// networkMagics are the numbers that statfs(2) gives network file systems.
var networkMagics = map[uint32]string{
	0x6969:     "nfs",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x517b:     "smb",
	0x01021997: "9p",
	0x00c36400: "ceph",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x73757245: "coda",
	0x0bd00bd0: "lustre",
	0x01161970: "gfs2",
	0x7461636f: "ocfs2",
	0x19830326: "beegfs",
	0x47504653: "gpfs",
	0xaad7aaea: "panfs",
}

// fuseMagic is one number for all that FUSE serves, local or not; the table of mounts
// tells them apart.
const fuseMagic = 0x65735546

// networkFuse are the FUSE file systems that are known to be another machine's.
var networkFuse = []string{
	"sshfs", "rclone", "s3fs", "glusterfs", "ceph", "gcsfuse", "goofys", "davfs", "curlftpfs",
	"mount-s3", "juicefs", "blobfuse", "blobfuse2", "lizardfs", "moosefs", "mfs", "seaweedfs", "nfs", "smbnetfs", "afp",
}

func networkFileSystem(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return ""
	}
	magic := uint32(fs.Type)
	if magic != fuseMagic {
		return networkMagics[magic]
	}
	var st unix.Stat_t
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || unix.Stat(dir, &st) != nil {
		return ""
	}
	kind := mountKind(string(mounts), uint64(st.Dev))
	for _, name := range networkFuse {
		if kind == "fuse."+name || kind == "fuse3."+name {
			return kind
		}
	}
	return ""
}

// freeSpace is what this user may still write to the file system of f.
func freeSpace(f *os.File) (bytes int64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * fs.Bsize, true
}

// mountKind is the type of the file system on device, by /proc/self/mountinfo
// (proc_pid_mountinfo(5)): "36 35 98:0 / /mnt rw shared:1 - fuse.sshfs host: rw".
func mountKind(mounts string, device uint64) string {
	want := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	for line := range strings.Lines(mounts) {
		place, kind, found := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		if found && len(fields) > 2 && fields[2] == want {
			kind, _, _ = strings.Cut(kind, " ")
			return kind
		}
	}
	return ""
}

// lockHolder says who holds the lock of the file at path, as far as /proc tells;
// empty where it does not (the holder is in another container).
func lockHolder(path string) string {
	var st unix.Stat_t
	locks, err := os.Open("/proc/locks")
	if err != nil || unix.Stat(path, &st) != nil {
		return ""
	}
	defer func() { _ = locks.Close() }()
	// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:262145 0 EOF" (proc_locks(5))
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != want {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err != nil || pid <= 0 {
			return ""
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			return fmt.Sprintf("process %d", pid)
		}
		return fmt.Sprintf("process %d, %s", pid, strings.TrimSpace(string(name)))
	}
	return ""
}
