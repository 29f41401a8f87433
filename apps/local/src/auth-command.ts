import { runAuthCommand } from '@plainpath/auth/cli'
import { plainly } from './plainly.ts'
import { runOnLocalData } from './run-on-local-data.ts'

process.exitCode = await plainly(() => runOnLocalData(runAuthCommand, process.argv.slice(2), process.env))
