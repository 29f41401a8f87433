/**
 * Lets PostgreSQL leave it to the kernel when changes reach the disk. A slow disk then does not delay responses. Nothing is lost
 * when a process is killed, only when the machine loses power, which no test can do.
 */
export const WITHOUT_FSYNC = { fsync: 'off', full_page_writes: 'off' }
