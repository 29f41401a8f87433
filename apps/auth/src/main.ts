import { TERMINAL_IO } from '@plainpath/commands'
import { runAuthCommand } from './cli.ts'

process.exitCode = await runAuthCommand(process.argv.slice(2), process.env, TERMINAL_IO)
