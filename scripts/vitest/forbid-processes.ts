/*
 * A Vitest setup file for the unit project. A test that tries to start a process fails with an error that says how to rename its
 * test file. Such a test belongs to another project (docs/testing.md).
 */
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

const refuseProcess = () => {
  throw new Error(
    'unit tests must not start processes: rename the file to *.process.test.ts, *.integration.test.ts if it needs PostgreSQL, or *.system.test.ts if it needs seconds of CPU time',
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
