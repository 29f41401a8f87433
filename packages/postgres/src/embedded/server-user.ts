import { chownSync, statSync } from 'node:fs'
import path from 'node:path'

const NOBODY = 65_534
const OTHERS_MAY_PASS = 0o001

/** The user the server runs as: ours, or `nobody` when we are root, which PostgreSQL refuses to run as. */
export function serverUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined
}

export function giveToServerUser(file: string): void {
  const user = serverUser()
  if (user) chownSync(file, user.uid, user.gid)
}

/** @returns whether the server's user may walk down to the existing `file` and read it. */
export function serverUserReaches(file: string): boolean {
  if (!serverUser()) return true
  if ((statSync(file).mode & 0o004) === 0) return false
  for (let folder = path.resolve(file); ; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & OTHERS_MAY_PASS) === 0 && statSync(folder).isDirectory()) return false
    if (folder === path.dirname(folder)) return true
  }
}
