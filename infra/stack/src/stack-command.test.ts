import { describe, expect, test } from 'vitest'
import { STACK_USAGE, stackCommand } from './stack-command.ts'

const parse = (env: Record<string, string>, ...args: string[]) => stackCommand(args, env, '/project')

test('starts at port 8080 with its own data, and passes no settings on, by default', () => {
  const start = { kind: 'start', port: 8080, folder: '/project/.data/stack', settings: {}, processEnv: {} }
  expect(parse({ HOME: '/root', AUTH_LIMITS_FACTOR: '1' })).toEqual(start)
  expect(parse({ PORT: '', DATA_DIR: '', AUTH_OTLP_URL: '' })).toEqual(start)
})

describe('passes on', () => {
  const PASSED_ON = {
    settings: { AUTH_OTLP_URL: 'http://127.0.0.1:4318', RESOURCE_OTLP_URL: 'http://127.0.0.1:4319' },
    processEnv: { OTEL_EXPORTER_OTLP_HEADERS: 'key=1', OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem' },
  }

  test('the addresses for traces, and the variables for the collector', () => {
    expect(parse({ ...PASSED_ON.settings, ...PASSED_ON.processEnv, DATA_DIR: 'there' })).toMatchObject({
      ...PASSED_ON,
      folder: '/project/there',
    })
  })

  test('only variables that the help names', () => {
    for (const flag of ['--help', '-h']) expect(parse({}, flag)).toEqual({ kind: 'help' })
    for (const name of ['PORT', 'DATA_DIR', ...Object.values(PASSED_ON).flatMap(Object.keys)])
      expect(STACK_USAGE).toContain(name)
  })
})

test.for(['nine', '0', '65536', '8080.5', '-1'])('rejects PORT=%s with a message', (PORT) => {
  expect(parse({ PORT })).toEqual({ kind: 'mistake', text: expect.stringMatching(/^PORT /) })
})

test.for(['--tracing', 'start'])('rejects the argument %s and prints the usage', (arg) => {
  expect(parse({}, arg)).toEqual({ kind: 'mistake', text: expect.stringContaining(STACK_USAGE) })
})
