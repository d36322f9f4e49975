package exec

import "syscall"

// dieWithUs has the command killed when we are, however we end: it must not act
// beside the command of whoever takes our place. The kernel takes the end of the
// thread that started it for ours, so that thread has to stay (see run).
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
