/* The program behind `npm run resource -- <command>`: runs a command of the API on the same data as `npm start`. */
import { runResourceCommand } from '@plainpath/resource/cli'
import { runOnLocalData } from './local-environment.ts'
import { runProgram } from './terminal.ts'

process.exitCode = await runProgram(() =>
  runOnLocalData(runResourceCommand, process.argv.slice(2), process.env),
)
