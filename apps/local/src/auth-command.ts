import { runAuthCommand } from '@plainpath/auth/cli'
import { runOnLocalData } from './local-environment.ts'
import { plainly } from './terminal.ts'

process.exitCode = await plainly(() => runOnLocalData(runAuthCommand, process.argv.slice(2), process.env))
