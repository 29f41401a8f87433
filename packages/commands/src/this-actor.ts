import { hostname, userInfo } from 'node:os'

/** The operating-system user that runs this process, for the audit trail and the log. */
export const thisActor = (): { user: string; host: string } => ({ user: userName(), host: hostname() })

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
