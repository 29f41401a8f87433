import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

/** Vitest `setupFiles` of the unit project: a test that starts a process fails and learns what to do. */
const refuse = () => {
  throw new Error(
    'a unit test starts no process: name the file *.process.test.ts, or *.integration.test.ts if it needs PostgreSQL',
  )
}

Object.assign(childProcess, {
  exec: refuse,
  execFile: refuse,
  execFileSync: refuse,
  execSync: refuse,
  fork: refuse,
  spawn: refuse,
  spawnSync: refuse,
})
syncBuiltinESMExports()
