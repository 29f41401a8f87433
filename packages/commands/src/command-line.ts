import type { Log } from '@plainpath/http'
import { ConfigError } from '@plainpath/http/settings'
import { CommanderError, Option, Command as Program } from 'commander'
import type { Command } from './command.ts'
import { Refusal } from './refusal.ts'

/** Prints the output of a command. Each call prints one or more lines. */
export interface CommandIo {
  print(text: string): void
  printError(text: string): void
}

export const TERMINAL_IO: CommandIo = {
  print: (text) => void process.stdout.write(`${text}\n`),
  printError: (text) => void process.stderr.write(`${text}\n`),
}

/** An app's command line and its command table. */
export interface CommandLine<Context> {
  readonly name: string
  readonly description: string
  /** The descriptions of command groups, keyed by the first word of two-word commands. */
  readonly groups: Readonly<Record<string, string>>
  readonly commands: readonly Command<Context>[]
}

/**
 * Runs the command that `words` names. With `--json`, prints one JSON value: the result or the refusal. Explains invalid settings
 * and listen errors. Logs an error of the command that neither this module nor `explain` recognizes.
 *
 * @param words the command-line arguments after `node` and the script path
 * @param deps.explain converts an expected error into a refusal that quotes no setting; returns undefined for any other error
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage or settings
 */
export async function runCommandLine<Context extends { readonly log: Log }>(
  commandLine: CommandLine<Context>,
  words: readonly string[],
  deps: { io: CommandIo; context: Context; explain(error: unknown): Refusal | undefined },
): Promise<number> {
  const { io, context, explain } = deps
  let exitCode = 0
  const run = async (program: Program, command: Command<Context>) => {
    const printsJson = program.opts()['json'] === true
    const print = (json: unknown, text: string) => io.print(printsJson ? JSON.stringify(json) : text)
    try {
      const output = await command.run(readArguments(program, command), context)
      if (output) print(output.json, output.text)
      if (output?.refusal === undefined) return
      io.printError(output.refusal)
      exitCode = 1
    } catch (error) {
      const refusal = explainCommonError(error) ?? explain(error)
      exitCode = refusal?.exitCode ?? 1
      if (printsJson) printRefusal(io, refusal?.json ?? { reason: 'The command failed. Its log says why.' })
      if (!refusal) return context.log.error('the command failed', { error })
      io.printError(refusal.message)
    }
  }
  try {
    await buildParser(commandLine, io, run).parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    // Thrown before the command has begun: by a request for help, for wrong usage, or by the parser of an argument or option.
    const printsJson = words.includes('--json')
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      // Commander has printed the message for people.
      if (printsJson) printRefusal(io, { reason: error.message.replace(/^error: /, '') })
      return 2
    }
    if (!(error instanceof Refusal)) throw error
    if (printsJson) printRefusal(io, error.json)
    io.printError(error.message)
    return error.exitCode
  }
}

const printRefusal = (io: CommandIo, json: object) => io.print(JSON.stringify({ ok: false, ...json }))

const LISTEN_ERRORS: Readonly<Record<string, (port?: number) => string>> = {
  EADDRINUSE: (port) => `Port ${port} is already in use.`,
  EACCES: (port) => `This user may not listen on port ${port}.`,
  EADDRNOTAVAIL: (port) => `Port ${port} cannot be opened: its address does not belong to this machine.`,
}

/** Converts errors that any app may have into refusals. Returns undefined for other errors. */
function explainCommonError(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof ConfigError)
    return new Refusal(error.message, { exitCode: 2, json: { mistakes: error.mistakes } })
  const { code = '', port, syscall } = (error ?? {}) as { code?: string; port?: number; syscall?: string }
  const describeListenError = syscall === 'listen' && LISTEN_ERRORS[code]
  return describeListenError ? new Refusal(describeListenError(port)) : undefined
}

function buildParser<Context>(
  commandLine: CommandLine<Context>,
  io: CommandIo,
  run: (program: Program, command: Command<Context>) => Promise<void>,
): Program {
  const parser = new Program(commandLine.name).description(commandLine.description).exitOverride()
  parser.configureOutput({
    writeOut: (text) => io.print(text.trimEnd()),
    writeErr: (text) => io.printError(text.trimEnd()),
  })
  for (const [name, description] of Object.entries(commandLine.groups))
    parser.command(name).description(description)
  for (const command of commandLine.commands) {
    // Reversed, because a name of one word has no group.
    const [name = '', group] = command.name.split(' ').toReversed()
    const parent = group === undefined ? parser : parser.commands.find((program) => program.name() === group)
    if (!parent) throw new Error(`\`groups\` does not describe the group of the command \`${command.name}\``)
    const program = parent.command(name)
    program.description(command.summary)
    for (const { declaration } of Object.values(command.parameters ?? {})) {
      if (declaration instanceof Option) program.addOption(declaration)
      else program.addArgument(declaration)
    }
    if (command.json !== false) program.option('--json', 'print JSON, for programs')
    program.action(() => run(program, command))
  }
  return parser
}

function readArguments<Context>(program: Program, { parameters = {} }: Command<Context>) {
  const options = program.opts<Record<string, unknown>>()
  // The parser lists the arguments in the order of their declarations.
  const words = program.processedArgs.values()
  return Object.fromEntries(
    Object.entries(parameters).map(([name, { declaration, read }]) => [
      name,
      read(declaration instanceof Option ? options[declaration.attributeName()] : words.next().value),
    ]),
  )
}
