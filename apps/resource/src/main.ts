import { runResourceCommand } from './cli.ts'

const io = { print: (line: string) => console.log(line), printError: (line: string) => console.error(line) }
process.exitCode = await runResourceCommand(process.argv.slice(2), process.env, io)
