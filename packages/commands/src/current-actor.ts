import { hostname, userInfo } from 'node:os'

/** Returns the operating-system user that runs this process, and the host name of the machine, for audit logs and log lines. */
export const getCurrentActor = (): { user: string; host: string } => ({
  user: readUserName(),
  host: hostname(),
})

/** Returns the name of the user, or the number of a user without a name, as in some containers. */
function readUserName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
