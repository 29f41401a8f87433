import { TERMINAL_IO } from '@plainpath/commands'
import { runResourceCommand } from './cli.ts'

process.exitCode = await runResourceCommand(process.argv.slice(2), process.env, TERMINAL_IO)
