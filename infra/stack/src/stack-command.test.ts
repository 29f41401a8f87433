import { describe, expect, test } from 'vitest'
import { parseStackCommand, STACK_USAGE } from './stack-command.ts'

/** Parses a command line with these environment variables, in the project folder `/project`. */
const parse = (env: Record<string, string>, ...args: string[]) => parseStackCommand(args, env, '/project')

test('by default, and with empty variables, the stack starts two instances of each app on port 8080 with data in .data/stack, and passes on no settings', () => {
  const start = {
    kind: 'start',
    port: 8080,
    folder: '/project/.data/stack',
    instances: { auth: 2, resource: 2 },
    basePort: undefined,
    shouldRestart: true,
    settings: {},
    processEnv: {},
  }
  // Of the apps' settings, only those for tracing are passed on.
  expect(parse({ HOME: '/root', AUTH_LIMITS_FACTOR: '1' })).toEqual(start)
  expect(parse({ PORT: '', DATA_DIR: '', AUTH_OTLP_URL: '' })).toEqual(start)
})

describe('variables for tracing', () => {
  const TRACING = {
    settings: { AUTH_OTLP_URL: 'http://127.0.0.1:4318', RESOURCE_OTLP_URL: 'http://127.0.0.1:4319' },
    processEnv: { OTEL_EXPORTER_OTLP_HEADERS: 'key=1', OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem' },
  }

  test('are passed on, also if DATA_DIR is set: collector URLs as settings, and OTEL_* variables to the processes of the apps', () => {
    expect(parse({ ...TRACING.settings, ...TRACING.processEnv, DATA_DIR: 'there' })).toMatchObject({
      ...TRACING,
      folder: '/project/there',
    })
  })

  test('are all in the help, like PORT and DATA_DIR', () => {
    for (const flag of ['--help', '-h']) expect(parse({}, flag)).toEqual({ kind: 'help' })
    for (const name of ['PORT', 'DATA_DIR', ...Object.values(TRACING).flatMap(Object.keys)])
      expect(STACK_USAGE).toContain(name)
  })
})

test.for(['nine', '0', '65536', '8080.5', '-1'])('PORT=%s is rejected with a message', (PORT) => {
  expect(parse({ PORT })).toEqual({ kind: 'usage-error', text: expect.stringMatching(/^PORT /) })
})

test.for(['--tracing', 'start'])('the argument %s is rejected with the usage text', (arg) => {
  expect(parse({}, arg)).toEqual({ kind: 'usage-error', text: expect.stringContaining(STACK_USAGE) })
})

test('the options set the number of instances, the fixed ports, and whether processes are restarted', () => {
  expect(parse({}, '--auth', '1', '--resource=9', '--base-port', '9000', '--no-restart')).toMatchObject({
    kind: 'start',
    instances: { auth: 1, resource: 9 },
    basePort: 9000,
    shouldRestart: false,
  })
})

test.for([
  ['--auth', '0', '--auth must be a number from 1 to 9.'],
  ['--auth', 'two', '--auth must be a number from 1 to 9.'],
  ['--resource', '10', '--resource must be a number from 1 to 9.'],
  ['--base-port', '0', '--base-port must be a number from 1 to 65436.'],
  // The last port of the range of 100 would be 65536.
  ['--base-port', '65437', '--base-port must be a number from 1 to 65436.'],
  [
    '--base-port',
    '8000',
    '--base-port 8000 uses the ports 8000 to 8099, but the gateway uses PORT 8080. Change one of them.',
  ],
  ['--add', 'redis', '--add must name an app: auth or resource.'],
] as const)('%s %s is rejected with a message', ([option, value, text]) => {
  expect(parse({}, option, value)).toEqual({ kind: 'usage-error', text })
})

test('--add names the app, and DATA_DIR the folder of the running stack', () => {
  const add = { kind: 'add', app: 'resource', folder: '/project/there' }
  expect(parse({ DATA_DIR: 'there' }, '--add', 'resource')).toEqual(add)
})

test('--add with another option is rejected', () => {
  expect(parse({}, '--add', 'auth', '--no-restart')).toEqual({
    kind: 'usage-error',
    text: '--add cannot be combined with other options: the running stack determines them.',
  })
})
