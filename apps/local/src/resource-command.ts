import { runResourceCommand } from '@plainpath/resource/cli'
import { plainly } from './plainly.ts'
import { runOnLocalData } from './run-on-local-data.ts'

process.exitCode = await plainly(() => runOnLocalData(runResourceCommand, process.argv.slice(2), process.env))
