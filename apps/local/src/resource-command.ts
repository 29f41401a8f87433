import { runResourceCommand } from '@plainpath/resource/cli'
import { runOnLocalData } from './local-environment.ts'
import { plainly } from './terminal.ts'

process.exitCode = await plainly(() => runOnLocalData(runResourceCommand, process.argv.slice(2), process.env))
