import { CommanderError, Option, Command as Program } from 'commander'
import type { Command } from './command.ts'
import { Refusal } from './refusal.ts'

/** Where a command writes. Each call is a line, or several joined by line ends. */
export interface CommandIo {
  print(text: string): void
  printError(text: string): void
}

/** The command line of an app: its table of commands. */
export interface CommandLine<Context> {
  readonly name: string
  readonly description: string
  /** The first words of commands that have two. */
  readonly groups: Readonly<Record<string, string>>
  readonly commands: readonly Command<Context>[]
}

/**
 * Runs the command that the words name. With `--json` it prints one JSON value: the answer, or why there is none.
 *
 * @param words without `node` and the file
 * @param deps.explain what to say of an error that is no `Refusal`; undefined when it has logged the error itself
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage or settings
 */
export async function runCommandLine<Context>(
  line: CommandLine<Context>,
  words: readonly string[],
  deps: { io: CommandIo; context: Context; explain(error: unknown): Refusal | undefined },
): Promise<number> {
  const { io, explain } = deps
  let exitCode = 0
  const run = async (program: Program, command: Command<Context>) => {
    const asJson = program.opts()['json'] === true
    const print = (json: unknown, text: string) => io.print(asJson ? JSON.stringify(json) : text)
    try {
      const answer = await command.run(readArguments(program, command), deps.context)
      if (answer) print(answer.json, answer.text)
      if (answer?.refusal === undefined) return
      io.printError(answer.refusal)
      exitCode = 1
    } catch (error) {
      const refusal = error instanceof Refusal ? error : explain(error)
      exitCode = refusal?.exitCode ?? 1
      if (!refusal) return
      if (asJson) io.print(JSON.stringify({ ok: false, ...refusal.json }))
      io.printError(refusal.message)
    }
  }
  try {
    await parserOf(line, io, run).parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!(error instanceof Refusal)) throw error
    io.printError(error.message)
    return error.exitCode
  }
}

function parserOf<Context>(
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
