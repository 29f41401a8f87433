import { hostname, userInfo } from 'node:os'

/** Returns the operating-system user that runs this process, and its host, for the audit trail and the log. */
export const getCurrentActor = (): { user: string; host: string } => ({
  user: readUserName(),
  host: hostname(),
})

/** Returns the user's name, or the user's number, because a user in a container may have no name. */
function readUserName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
