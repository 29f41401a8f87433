import type { Log } from '@plainpath/http'
import { ConfigError } from '@plainpath/http/settings'
import { CommanderError, Option, Command as Program } from 'commander'
import type { Command } from './command.ts'
import { Refusal } from './refusal.ts'

/** The output of a command. Each call prints one or more lines. */
export interface CommandIo {
  print(text: string): void
  printError(text: string): void
}

export const TERMINAL: CommandIo = {
  print: (text) => void process.stdout.write(`${text}\n`),
  printError: (text) => void process.stderr.write(`${text}\n`),
}

/** The command line of an app, with its table of commands. */
export interface CommandLine<Context> {
  readonly name: string
  readonly description: string
  /** Descriptions of the first words of commands that have two. */
  readonly groups: Readonly<Record<string, string>>
  readonly commands: readonly Command<Context>[]
}

/**
 * Runs the command that the words name. With `--json` it prints one JSON value: the result or the refusal. Mistakes in the
 * settings and addresses that cannot be bound are explained; an error that neither this module nor `explain` knows is logged.
 *
 * @param words the arguments without `node` and the file
 * @param deps.explain turns an expected error of the app into a refusal; undefined for a bug. Never quotes a setting.
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage or settings
 */
export async function runCommandLine<Context extends { readonly log: Log }>(
  line: CommandLine<Context>,
  words: readonly string[],
  deps: { io: CommandIo; context: Context; explain(error: unknown): Refusal | undefined },
): Promise<number> {
  const { io, context, explain } = deps
  let exitCode = 0
  const run = async (program: Program, command: Command<Context>) => {
    const asJson = program.opts()['json'] === true
    const print = (json: unknown, text: string) => io.print(asJson ? JSON.stringify(json) : text)
    try {
      const answer = await command.run(readArguments(program, command), context)
      if (answer) print(answer.json, answer.text)
      if (answer?.refusal === undefined) return
      io.printError(answer.refusal)
      exitCode = 1
    } catch (error) {
      const refusal = explainCommon(error) ?? explain(error)
      exitCode = refusal?.exitCode ?? 1
      if (!refusal) return context.log.error('the command failed', { error })
      if (asJson) io.print(JSON.stringify({ ok: false, ...refusal.json }))
      io.printError(refusal.message)
    }
  }
  try {
    await buildParser(line, io, run).parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!(error instanceof Refusal)) throw error
    io.printError(error.message)
    return error.exitCode
  }
}

const LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'The port is taken',
  EACCES: 'The port may not be used by this user',
  EADDRNOTAVAIL: 'The address is not one of this machine',
}

/** Explains errors that every app may have; undefined for any other. */
function explainCommon(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof ConfigError)
    return new Refusal(error.message, { exitCode: 2, json: { mistakes: error.mistakes } })
  const { code = '', port, syscall } = (error ?? {}) as { code?: string; port?: number; syscall?: string }
  const listening = syscall === 'listen' && LISTENING[code]
  return listening ? new Refusal(`${listening}: ${port}.`) : undefined
}

function buildParser<Context>(
  line: CommandLine<Context>,
  io: CommandIo,
  run: (program: Program, command: Command<Context>) => Promise<void>,
): Program {
  const parser = new Program(line.name).description(line.description).exitOverride()
  parser.configureOutput({
    writeOut: (text) => io.print(text.trimEnd()),
    writeErr: (text) => io.printError(text.trimEnd()),
  })
  for (const [name, description] of Object.entries(line.groups)) parser.command(name).description(description)
  for (const command of line.commands) {
    const [name = '', group] = command.name.split(' ').toReversed()
    const parent = parser.commands.find((each) => each.name() === group) ?? parser
    const program = parent.command(name)
    program.description(command.summary)
    for (const { declared } of Object.values(command.parameters ?? {})) {
      if (declared instanceof Option) program.addOption(declared)
      else program.addArgument(declared)
    }
    if (command.json !== false) program.option('--json', 'for programs')
    program.action(() => run(program, command))
  }
  return parser
}

function readArguments<Context>(program: Program, { parameters = {} }: Command<Context>) {
  const options = program.opts<Record<string, unknown>>()
  const words = program.processedArgs.values()
  return Object.fromEntries(
    Object.entries(parameters).map(([name, { declared, read }]) => [
      name,
      read(declared instanceof Option ? options[declared.attributeName()] : words.next().value),
    ]),
  )
}
