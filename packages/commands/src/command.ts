import { Argument, InvalidArgumentError, Option } from 'commander'

export { InvalidArgumentError }

/** An argument or option of a command, and how its value reaches the handler. */
interface Parameter<T> {
  readonly declared: Argument | Option
  /** Reads the value for the handler. @param value the value from the parser; undefined if it was left out */
  read(value: unknown): T
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>
export type Arguments<P extends Parameters> = { readonly [Name in keyof P]: ReturnType<P[Name]['read']> }

/** The result of a command. */
export interface CommandOutput {
  readonly text: string
  /** Printed instead of `text` with `--json`. */
  readonly json?: unknown
  /** Set if the command refused something: the reason, printed with exit code 1. */
  readonly refusal?: string | undefined
}

/** A command, as the parser, the help and docs/commands.md use it. */
export interface Command<Context> {
  /** All its words, such as `keys list`. */
  readonly name: string
  readonly summary: string
  /** By their names in the handler; arguments have this order on the command line. */
  readonly parameters?: Parameters
  /** The environment variables that it reads. */
  readonly settings: 'all' | readonly string[]
  /** What is opened before the command runs and closed after it. */
  readonly opens?: string
  /** False for a command without `--json`. */
  readonly json?: false
  run(args: Arguments<Parameters>, context: Context): Promise<CommandOutput | undefined>
}

/** A row of an app's command table. The handler gets its arguments and what the app opens for it. */
export interface Entry<P extends Parameters, Opened>
  extends Pick<Command<never>, 'name' | 'summary' | 'json'> {
  readonly parameters?: P
  /** @throws {Refusal} */
  run(
    call: Opened & { readonly args: Arguments<P> },
  ): CommandOutput | undefined | Promise<CommandOutput | undefined>
}

type Parse<T> = (text: string) => T

/**
 * Declares an argument.
 *
 * @param usage `<name>`, or `[name]` for one that may be left out
 * @param parse throws `InvalidArgumentError` for wrong usage
 */
export function argument<Usage extends `<${string}>` | `[${string}]`, T = string>(
  usage: Usage,
  description: string,
  parse?: Parse<T>,
): Parameter<NoInfer<T> | (Usage extends `<${string}>` ? never : undefined)> {
  const declared = new Argument(usage, description)
  if (parse) declared.argParser(parse)
  return { declared, read: (given) => given as T }
}

interface OptionTraits<T> {
  readonly parse?: Parse<T>
  readonly choices?: readonly T[]
}

/** Either of these guarantees the handler a value. */
interface Given<T> {
  readonly required?: true
  readonly default?: T
}

/** Declares an option with a value. @param flags such as `--limit <number>` */
export function option<T = string, G extends Given<T> = Given<T>>(
  flags: string,
  description: string,
  traits?: OptionTraits<T> & G,
): Parameter<NoInfer<T> | (G extends { required: true } | { default: unknown } ? never : undefined)> {
  const declared = new Option(flags, description).makeOptionMandatory(traits?.required ?? false)
  if (traits?.parse) declared.argParser(traits.parse)
  if (traits?.choices) declared.choices(traits.choices.map(String))
  if (traits?.default !== undefined) declared.default(traits.default)
  return { declared, read: (given) => given as T }
}

/** Declares an option without a value. @param conflicts the `attributeName` of flags that exclude it */
export function flag(flags: string, description: string, conflicts: string[] = []): Parameter<boolean> {
  return { declared: new Option(flags, description).conflicts(conflicts), read: (given) => given === true }
}

export const DRY_RUN = flag('--dry-run', 'say what would be done, and change nothing')

export const wholeNumber =
  (least: number, most: number): Parse<number> =>
  (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`)
  }
