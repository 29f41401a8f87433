/**
 * PostgreSQL settings that let the kernel choose when changes reach the disk, so a slow disk does not delay responses.
 * A killed process loses nothing. Only a crash of the machine could lose changes, and no test crashes it.
 */
export const WITHOUT_FSYNC = { fsync: 'off', full_page_writes: 'off' }
