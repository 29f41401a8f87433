/*
 * A Vitest setup file for the unit project: a test that tries to start a process fails, and the error says how to name its file
 * instead.
 */
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

const refuseProcess = () => {
  throw new Error(
    'unit tests must not start processes: name the file *.process.test.ts, or *.integration.test.ts if it needs PostgreSQL',
  )
}

Object.assign(childProcess, {
  exec: refuseProcess,
  execFile: refuseProcess,
  execFileSync: refuseProcess,
  execSync: refuseProcess,
  fork: refuseProcess,
  spawn: refuseProcess,
  spawnSync: refuseProcess,
})
// The assignment alone would not affect named imports, such as `import { spawn } from 'node:child_process'`.
syncBuiltinESMExports()
