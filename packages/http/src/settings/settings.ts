import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseTrustedProxies, type TrustedProxies } from '../request/client-address.ts'

/*
 * Reads and validates the settings of an app from environment variables, and describes them in a table. Which settings exist is
 * declared by each app (`config.ts`); no other module reads `process.env`.
 */

/** An environment variable that an app reads. */
export interface Setting {
  /** Parses the text of the variable. Its messages never quote the value. */
  readonly schema: z.ZodType
  /** For operators, in the table of README.md. */
  readonly description: string
  /** As text, like a value in the environment. */
  readonly default?: string
  /** Never printed. */
  readonly secret?: true
}

type Settings = Readonly<Record<string, Setting>>
export type SettingValues<S extends Settings> = { readonly [Name in keyof S]: z.output<S[Name]['schema']> }

/** The settings of one app, and the rules for them as a whole. */
interface AppSettings<S extends Settings> {
  readonly settings: S
  /** Any other variable whose name begins with this is a mistake. */
  readonly prefix: string
  /** True if an empty variable counts as absent; otherwise it is a value like any other. */
  readonly emptyIsAbsent: boolean
  /** Finds mistakes in the combination of valid settings. Invalid settings, and those that are not read, are absent from `values`. */
  mistakesTogether(values: Partial<SettingValues<S>>): string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** All mistakes in the settings at once, for the person who starts the program. Never contains a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(['bad configuration', ...mistakes].join('\n  '))
    this.mistakes = mistakes
  }
}

/** Creates the function that reads the settings of an app. */
export function settingsReader<S extends Settings>(app: AppSettings<S>) {
  const { settings, prefix, emptyIsAbsent, mistakesTogether } = app
  /**
   * Reads settings from the environment.
   *
   * @param names the settings to read; all when absent
   * @throws {ConfigError} naming every invalid or missing one of them, and every unknown variable
   */
  return function readSettings<Name extends keyof S & string>(
    env: Environment,
    names?: readonly Name[],
  ): Pick<SettingValues<S>, Name> {
    const textFor = (name: string) => (emptyIsAbsent ? env[name] || undefined : env[name])
    const mistakes = Object.keys(env)
      .filter((name) => name.startsWith(prefix) && textFor(name) !== undefined)
      .filter((name) => !Object.hasOwn(settings, name))
      .map((name) => `${name} is not a setting`)
    const needed: ReadonlySet<string> = new Set(names ?? Object.keys(settings))
    const values: Record<string, unknown> = {}
    for (const [name, { schema, default: fallback }] of Object.entries<Setting>(settings)) {
      if (!needed.has(name)) continue
      const text = textFor(name) ?? fallback
      const parsed = schema.safeParse(text)
      if (parsed.success) values[name] = parsed.data
      else if (text === undefined) mistakes.push(`${name} is missing`)
      else mistakes.push(...parsed.error.issues.map((issue) => `${name} ${issue.message}`))
    }
    mistakes.push(...mistakesTogether(values as Partial<SettingValues<S>>))
    if (mistakes.length > 0) throw new ConfigError(mistakes)
    return values as Pick<SettingValues<S>, Name>
  }
}

interface SettingRow {
  readonly name: string
  readonly description: string
  /** Absent for a required setting, and for one that is empty by default. */
  readonly default?: string
  readonly required: boolean
}

/** Lists every setting in the order of declaration. */
export const settingRows = (settings: Settings): SettingRow[] =>
  Object.entries(settings).map(([name, { schema, description, default: fallback }]) => ({
    name,
    description,
    ...(fallback && { default: fallback }),
    required: fallback === undefined && !schema.safeParse(undefined).success,
  }))

/** Formats the settings as the Markdown table of README.md. */
export const settingsTable = (settings: Settings): string =>
  [
    '| Setting | Default | What it is |',
    '| --- | --- | --- |',
    ...settingRows(settings).map(
      (row) =>
        `| \`${row.name}\` | ${row.required ? '**required**' : row.default ? `\`${row.default}\`` : ''} | ${row.description} |`,
    ),
  ].join('\n')

/** Digits only: `Number` would parse empty text as 0, and port 0 means any port. */
const number = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number')
  .transform(Number)

export const numberFrom = (least: number, most: number) =>
  number.refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`)

export const positive = (most: number) =>
  number.refine((value) => value > 0 && value <= most, `must be more than 0 and at most ${most}`)

export const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`)

export const port = wholeNumber(0, 65_535)

/** Text that is not empty, such as an address to bind or a directory. */
export const text = z.string().min(1, 'must not be empty')

/** Entries separated by commas. */
export const list = (entry: z.ZodType<string, string>) =>
  z
    .string()
    .transform((written) => written.split(',').flatMap((each) => each.trim() || []))
    .pipe(z.array(entry))

export const hostHeader = z
  .string()
  .regex(/^[a-z0-9.-]+(:\d+)?$|^\[[0-9a-f:]+\](:\d+)?$/, 'must be values such as 127.0.0.1:8080')

/** A host as URLs write it, with a port that they do not leave out. */
export const hostAndPort = z
  .string()
  .regex(/^[a-z0-9.-]+:(?!443$)\d{1,5}$/, 'must be values such as agent.example.org:8443')

export const postgresUrl = z.url({
  protocol: /^postgres(ql)?$/,
  hostname: /./,
  error: 'must be a postgres:// URL',
})

export const redisUrl = z.url({ protocol: /^rediss?$/, hostname: /./, error: 'must be a redis:// URL' })

/** The URL of a service, to which paths are appended. */
export const baseUrl = z
  .url({ protocol: /^https?$/, hostname: /./, error: 'must be a http:// or https:// URL' })
  .refine((written) => !/[@?#]|\/$/.test(written), 'must have no user, query or trailing slash')

export const trustedProxies = z.string().transform((written, context): TrustedProxies => {
  try {
    return parseTrustedProxies(written)
  } catch {
    context.addIssue({ code: 'custom', message: 'must be addresses and networks such as 10.0.0.0/8' })
    return z.NEVER
  }
})

/**
 * A setting that is the path of a file, with the parsed content as its value. Secrets are passed as files so that they show
 * neither in the environment nor in a process listing.
 *
 * @param parse throws an error that says what is wrong without quoting the file
 */
export const file = <T>(parse: (content: string) => T) =>
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

/** Like {@link file}, with the path for reading the file again later. */
export const fileAndPath = <T>(parse: (content: string) => T) =>
  z
    .string()
    .transform((path) => ({ path, content: path }))
    .pipe(z.object({ path: z.string(), content: file(parse) }))
