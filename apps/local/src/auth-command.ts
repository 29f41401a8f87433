/* The program behind `npm run auth -- <command>`: runs a command of auth on the same data as `npm start`. */
import { runAuthCommand } from '@plainpath/auth/cli'
import { runOnLocalData } from './local-environment.ts'
import { runProgram } from './terminal.ts'

process.exitCode = await runProgram(() => runOnLocalData(runAuthCommand, process.argv.slice(2), process.env))
