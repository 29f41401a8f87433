import { createLog } from '@plainpath/http'
import { ConfigError } from '@plainpath/http/settings'
import { expect, test } from 'vitest'
import { argument, type Command, createWholeNumberParser, DRY_RUN, option } from './command.ts'
import { runCommandLine } from './command-line.ts'
import { Refusal } from './refusal.ts'

/**
 * Runs a command line of an app whose only command is `things make`, unless `command` replaces its name. `RangeError` stands for
 * an error that the app can explain.
 *
 * @returns the exit code, what was printed, and the lines of the log if there are any
 */
const run = async (
  words: string,
  command: Pick<Command<object>, 'parameters' | 'run'> & Partial<Command<object>>,
) => {
  const printed: string[] = []
  const errors: string[] = []
  const logLines: string[] = []
  const log = createLog({ service: 'app', write: (text) => void logLines.push(text) })
  const commandLine = {
    name: 'app',
    description: 'An app',
    groups: { things: 'things' },
    commands: [{ name: 'things make', summary: 'make things', settings: [], ...command }],
  }
  const code = await runCommandLine(commandLine, words.split(' '), {
    io: { print: (text) => void printed.push(text), printError: (text) => void errors.push(text) },
    context: { log },
    explain: (error) =>
      error instanceof RangeError ? new Refusal(`explained: ${error.message}`) : undefined,
  })
  return { code, printed, errors, ...(logLines.length > 0 && { logLines }) }
}

test('runCommandLine passes arguments, defaults, and false for an absent flag to the handler, but does not run it with an invalid value', async () => {
  const receivedArguments: object[] = []
  const command = {
    parameters: {
      id: argument('<id>', 'an id'),
      rest: argument('[rest]', 'more'),
      limit: option('--limit <number>', 'the most entries to list', {
        parse: createWholeNumberParser(1, 9),
        default: 5,
      }),
      dryRun: DRY_RUN,
    },
    run: async (args: object) => {
      receivedArguments.push(args)
      return undefined
    },
  }
  await run('things make one', command)
  await run('things make one two --limit 7 --dry-run', command)
  expect(receivedArguments).toEqual([
    { id: 'one', rest: undefined, limit: 5, dryRun: false },
    { id: 'one', rest: 'two', limit: 7, dryRun: true },
  ])
  expect(await run('things make one --limit 10', command)).toMatchObject({ code: 2, printed: [] })
  expect(receivedArguments).toHaveLength(2)
})

test.for([
  { kind: 'a result', json: ['{"made":1}'], text: ['Made one.'], errors: [], code: 0 },
  { kind: 'a result with a refusal', json: ['{"made":1}'], text: ['Made one.'], errors: ['But.'], code: 1 },
])(
  'runCommandLine prints $kind as one line for people, and as one JSON value for programs',
  async ({ json, text, errors, code }) => {
    const make = async () => ({ text: 'Made one.', json: { made: 1 }, refusal: errors[0] })
    expect(await run('things make', { run: make })).toEqual({ code, printed: text, errors })
    expect(await run('things make --json', { run: make })).toEqual({ code, printed: json, errors })
  },
)

test.for([
  { error: new Refusal('No.'), message: 'No.', json: { ok: false, reason: 'No.' }, code: 1 },
  {
    error: new Refusal('No.', { exitCode: 2, json: { at: 3 } }),
    message: 'No.',
    json: { ok: false, at: 3 },
    code: 2,
  },
  {
    error: new RangeError('x'),
    message: 'explained: x',
    json: { ok: false, reason: 'explained: x' },
    code: 1,
  },
  {
    error: new ConfigError(['PORT is missing']),
    message: 'bad configuration\n  PORT is missing',
    json: { ok: false, mistakes: ['PORT is missing'] },
    code: 2,
  },
  {
    error: Object.assign(new Error('x'), { syscall: 'listen', code: 'EADDRINUSE', port: 8080 }),
    message: 'Port 8080 is already in use.',
    json: { ok: false, reason: 'Port 8080 is already in use.' },
    code: 1,
  },
])(
  'runCommandLine explains an expected error as "$message", with exit code $code',
  async ({ error, message, json, code }) => {
    const failingCommand = { run: () => Promise.reject(error) }
    expect(await run('things make', failingCommand)).toEqual({ code, printed: [], errors: [message] })
    const jsonRun = await run('things make --json', failingCommand)
    expect(jsonRun).toMatchObject({ code, errors: [message] })
    expect(jsonRun.printed.map((text) => JSON.parse(text))).toEqual([json])
  },
)

test('runCommandLine prints one JSON value for programs if the parser of an argument refuses a value', async () => {
  const parse = (): string => {
    throw new Refusal('No id.')
  }
  const command = { parameters: { id: argument('<id>', 'an id', parse) }, run: async () => undefined }
  expect(await run('things make one', command)).toEqual({ code: 1, printed: [], errors: ['No id.'] })
  expect(await run('things make one --json', command)).toEqual({
    code: 1,
    printed: ['{"ok":false,"reason":"No id."}'],
    errors: ['No id.'],
  })
})

test('runCommandLine prints one JSON value for programs if the usage is wrong', async () => {
  const limit = option('--limit <number>', 'a limit', { parse: createWholeNumberParser(1, 9) })
  const command = { parameters: { limit }, run: async () => undefined }
  const reason = "option '--limit <number>' argument '10' is invalid. It must be a number from 1 to 9."
  const usageError = { code: 2, errors: [`error: ${reason}`] }
  expect(await run('things make --limit 10', command)).toEqual({ ...usageError, printed: [] })
  expect(await run('things make --limit 10 --json', command)).toEqual({
    ...usageError,
    printed: [JSON.stringify({ ok: false, reason })],
  })
  const help = await run('things make --help --json', command)
  expect([help.code, help.printed[0]]).toEqual([0, expect.stringMatching(/^Usage: app things make /)])
})

test('runCommandLine logs an unexplained error, with exit code 1', async () => {
  const { code, printed, errors, logLines } = await run('things make --json', {
    run: () => Promise.reject(new Error('x')),
  })
  const json = '{"ok":false,"reason":"The command failed. Its log says why."}'
  expect({ code, printed, errors }).toEqual({ code: 1, printed: [json], errors: [] })
  expect(logLines?.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 'error', msg: 'the command failed' }),
  ])
})

test('runCommandLine throws if a command belongs to a group that is not described', async () => {
  const command = { run: () => Promise.resolve({ text: 'Made one.', json: {}, refusal: undefined }) }
  await expect(run('other make', { name: 'other make', ...command })).rejects.toThrow('`other make`')
  expect(await run('things make', command)).toMatchObject({ code: 0 })
})
