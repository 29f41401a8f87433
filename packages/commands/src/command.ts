import { Argument, InvalidArgumentError, Option } from 'commander'

export { InvalidArgumentError }

/** An argument or option of a command, and the conversion of its value for the handler. */
interface Parameter<T> {
  readonly declaration: Argument | Option
  /**
   * Returns the value for the handler.
   *
   * @param value the value from the parser; undefined if the caller left it out
   */
  read(value: unknown): T
}

/** The parameters of a command, keyed by the names that the handler uses. */
export type CommandParameters = Readonly<Record<string, Parameter<unknown>>>
/** The parameter values that the handler receives. */
export type CommandArguments<P extends CommandParameters> = {
  readonly [Name in keyof P]: ReturnType<P[Name]['read']>
}

/** The result of a command. */
export interface CommandOutput {
  readonly text: string
  /** The value that `--json` prints instead of `text`. */
  readonly json?: unknown
  /** Set if the command refused something: the reason, printed with exit code 1. */
  readonly refusal?: string | undefined
}

/** A command, from which the parser, the help text and docs/commands.md are built. */
export interface Command<Context> {
  /** One or two words, such as `keys list`. */
  readonly name: string
  /** Begins in lower case and has no full stop, as in the help text. docs/commands.md capitalises it and adds the full stop. */
  readonly summary: string
  /** The order of the arguments here is their order on the command line. */
  readonly parameters?: CommandParameters
  /** The environment variables that the command reads, for docs/commands.md. */
  readonly settings: 'all' | readonly string[]
  /** The stores that are opened before the command runs and closed afterwards, such as `database`. Shown in docs/commands.md. */
  readonly opens?: string
  /** False if the command has no `--json` option. */
  readonly json?: false
  /** Runs the command. Returns undefined if there is nothing to print. */
  run(args: CommandArguments<CommandParameters>, context: Context): Promise<CommandOutput | undefined>
}

/** An entry in an app's command table. The handler receives the arguments and the stores that the app opened for the command. */
export interface CommandEntry<P extends CommandParameters, Opened>
  extends Pick<Command<never>, 'name' | 'summary' | 'json'> {
  readonly parameters?: P
  /** @throws {Refusal} if the command refuses to run, or fails for a reason that the user can understand */
  run(
    call: Opened & { readonly args: CommandArguments<P> },
  ): CommandOutput | undefined | Promise<CommandOutput | undefined>
}

/** Parses a value. Throws `InvalidArgumentError` for an invalid value. */
type Parse<T> = (text: string) => T

/**
 * Declares an argument.
 *
 * @param usage `<name>`, or `[name]` for an optional argument
 */
export function argument<Usage extends `<${string}>` | `[${string}]`, T = string>(
  usage: Usage,
  description: string,
  parse?: Parse<T>,
): Parameter<NoInfer<T> | (Usage extends `<${string}>` ? never : undefined)> {
  const declaration = new Argument(usage, description)
  if (parse) declaration.argParser(parse)
  return { declaration, read: (value) => value as T }
}

interface OptionTraits<T> {
  readonly parse?: Parse<T>
  readonly choices?: readonly T[]
}

/** With either of these traits, the handler always receives a value. */
interface AlwaysPresent<T> {
  readonly required?: true
  readonly default?: T
}

/**
 * Declares an option with a value.
 *
 * @param flags such as `--limit <number>`
 */
export function option<T = string, Presence extends AlwaysPresent<T> = AlwaysPresent<T>>(
  flags: string,
  description: string,
  traits?: OptionTraits<T> & Presence,
): Parameter<NoInfer<T> | (Presence extends { required: true } | { default: unknown } ? never : undefined)> {
  const declaration = new Option(flags, description).makeOptionMandatory(traits?.required ?? false)
  if (traits?.parse) declaration.argParser(traits.parse)
  if (traits?.choices) declaration.choices(traits.choices.map(String))
  if (traits?.default !== undefined) declaration.default(traits.default)
  return { declaration, read: (value) => value as T }
}

/**
 * Declares an option without a value.
 *
 * @param conflicts the `attributeName` of flags that cannot be combined with this one
 */
export function flag(flags: string, description: string, conflicts: string[] = []): Parameter<boolean> {
  return {
    declaration: new Option(flags, description).conflicts(conflicts),
    read: (value) => value === true,
  }
}

export const DRY_RUN = flag('--dry-run', 'print what would change, without changing it')

/** Creates a parser of whole numbers from `min` to `max`. */
export const createWholeNumberParser =
  (min: number, max: number): Parse<number> =>
  (text) => {
    // A JavaScript number represents every whole number of 15 digits exactly.
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`)
  }
