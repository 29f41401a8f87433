import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseTrustedProxies, type TrustedProxies } from '../request/client-address.ts'

/*
 * Reads and validates an app's settings from environment variables, and describes them in a table. Each app declares
 * its settings, and its `main.ts` passes `process.env`.
 */

/** An environment variable that an app reads. */
export interface Setting {
  /** Parses the variable's text. Its messages must not quote the value, which may be secret. */
  readonly schema: z.ZodType
  /** Explains the setting to operators, in the table of README.md. */
  readonly description: string
  /** The default as text, like a value in the environment. */
  readonly default?: string
  /** True for a value that must never be printed. */
  readonly secret?: true
}

type Settings = Readonly<Record<string, Setting>>
export type SettingValues<S extends Settings> = { readonly [Name in keyof S]: z.output<S[Name]['schema']> }

/** An app's settings, and the rules for combining them. */
interface AppSettings<S extends Settings> {
  readonly settings: S
  /** A variable whose name begins with this prefix is a mistake, unless it is a setting. */
  readonly prefix: string
  /** Finds mistakes in the combination of settings. `values` lacks those that are invalid or were not requested. */
  findCombinedMistakes(values: Partial<SettingValues<S>>): string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Thrown for invalid settings. Lists all mistakes for the person who starts the program, but never contains a value.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(['bad configuration', ...mistakes].join('\n  '))
    this.mistakes = mistakes
  }
}

/** Creates the function that reads an app's settings. */
export function createSettingsReader<S extends Settings>(app: AppSettings<S>) {
  const { settings, prefix, findCombinedMistakes } = app
  /** Treats an empty variable as absent, because Compose and shells set one for a missing value. */
  const findText = (env: Environment, name: string) => env[name] || undefined
  /**
   * Reads settings from the environment.
   *
   * @param names the settings to read; by default all
   * @throws {ConfigError} that names every requested setting that is invalid or missing, and every unknown variable
   *   with the prefix
   */
  return function readSettings<Name extends keyof S & string>(
    env: Environment,
    names?: readonly Name[],
  ): Pick<SettingValues<S>, Name> {
    const mistakes = Object.keys(env)
      .filter((name) => name.startsWith(prefix) && findText(env, name) !== undefined)
      .filter((name) => !Object.hasOwn(settings, name))
      .map((name) => `${name} is not a setting`)
    const requestedNames: ReadonlySet<string> = new Set(names ?? Object.keys(settings))
    const values: Record<string, unknown> = {}
    for (const [name, { schema, default: fallback }] of Object.entries<Setting>(settings)) {
      if (!requestedNames.has(name)) continue
      const text = findText(env, name) ?? fallback
      const parsed = schema.safeParse(text)
      if (parsed.success) values[name] = parsed.data
      else if (text === undefined) mistakes.push(`${name} is missing`)
      else mistakes.push(...parsed.error.issues.map((issue) => `${name} ${issue.message}`))
    }
    mistakes.push(...findCombinedMistakes(values as Partial<SettingValues<S>>))
    if (mistakes.length > 0) throw new ConfigError(mistakes)
    return values as Pick<SettingValues<S>, Name>
  }
}

interface SettingRow {
  readonly name: string
  readonly description: string
  /** Absent if there is no default, or an empty one. */
  readonly default?: string
  readonly required: boolean
}

/** Lists every setting in declaration order. */
export const listSettingRows = (settings: Settings): SettingRow[] =>
  Object.entries(settings).map(([name, { schema, description, default: fallback }]) => ({
    name,
    description,
    ...(fallback && { default: fallback }),
    required: fallback === undefined && !schema.safeParse(undefined).success,
  }))

/** Formats the settings as the Markdown table of README.md. */
export const formatSettingsTable = (settings: Settings): string =>
  [
    '| Setting | Default | What it is |',
    '| --- | --- | --- |',
    ...listSettingRows(settings).map(
      (row) => `| \`${row.name}\` | ${formatDefault(row)} | ${row.description} |`,
    ),
  ].join('\n')

function formatDefault(row: SettingRow): string {
  if (row.required) return '**required**'
  return row.default ? `\`${row.default}\`` : ''
}

/** Accepts only digits with an optional fraction. `Number` alone would also parse an empty text, as 0. */
const decimalNumber = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number')
  .transform(Number)

export const numberBetween = (min: number, max: number) =>
  decimalNumber.refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)

export const positiveNumber = (max: number) =>
  decimalNumber.refine((value) => value > 0 && value <= max, `must be more than 0 and at most ${max}`)

export const wholeNumberBetween = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)

/** A port to listen on; 0 picks a free one. */
export const port = wholeNumberBetween(0, 65_535)

/** Text that is not empty, such as an address to bind or a directory. */
export const nonEmptyText = z.string().min(1, 'must not be empty')

/** A list of entries, separated by commas. */
export const listOf = (entry: z.ZodType<string, string>) =>
  z
    .string()
    .transform((entries) => entries.split(',').flatMap((part) => part.trim() || []))
    .pipe(z.array(entry))

/** A value of the `Host` header: a name or an address, with IPv6 in brackets, and an optional port. */
export const hostHeader = z
  .string()
  .regex(/^[a-z0-9.-]+(:\d+)?$|^\[[0-9a-f:]+\](:\d+)?$/, 'must be values such as 127.0.0.1:8080')

/** A host and a port other than the default port of `https:`, as in a URL. */
export const hostAndPort = z
  .string()
  .regex(/^[a-z0-9.-]+:(?!443$)\d{1,5}$/, 'must be values such as agent.example.org:8443')

export const postgresUrl = z.url({
  protocol: /^postgres(ql)?$/,
  hostname: /./,
  error: 'must be a postgres:// URL',
})

export const redisUrl = z.url({ protocol: /^rediss?$/, hostname: /./, error: 'must be a redis:// URL' })

/** A service's URL, to which paths are appended. */
export const baseUrl = z
  .url({ protocol: /^https?$/, hostname: /./, error: 'must be an http:// or https:// URL' })
  .refine((url) => !/[@?#]|\/$/.test(url), 'must have no user, query or trailing slash')

export const trustedProxies = z.string().transform((addresses, context): TrustedProxies => {
  try {
    return parseTrustedProxies(addresses)
  } catch {
    // The error is not used, because it quotes the entry.
    context.addIssue({ code: 'custom', message: 'must be addresses and networks such as 10.0.0.0/8' })
    return z.NEVER
  }
})

/**
 * Creates the schema of a setting that is a file's path, and whose value is the parsed content. Secrets are passed as
 * files, because other programs can read environments and process lists.
 *
 * @param parse throws an error that explains the mistake without quoting the file
 */
export const parsedFile = <T>(parse: (content: string) => T) =>
  z.string().transform((path, context): T => {
    try {
      return parse(readFileSync(path, 'utf8'))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      context.addIssue({
        code: 'custom',
        message: code ? `names a file that cannot be read (${code})` : (error as Error).message,
      })
      return z.NEVER
    }
  })

/** Does the same as {@link parsedFile}, but includes the path in the value, for reading the file again later. */
export const parsedFileAndPath = <T>(parse: (content: string) => T) =>
  z
    .string()
    .transform((path) => ({ path, content: path }))
    .pipe(z.object({ path: z.string(), content: parsedFile(parse) }))
