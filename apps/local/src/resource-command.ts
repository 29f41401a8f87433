import { runResourceCommand } from '@plainpath/resource/cli'
import { runOnLocalData } from './local-environment.ts'
import { runProgram } from './terminal.ts'

process.exitCode = await runProgram(() =>
  runOnLocalData(runResourceCommand, process.argv.slice(2), process.env),
)
