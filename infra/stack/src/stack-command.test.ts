import { describe, expect, test } from 'vitest'
import { STACK_USAGE, stackCommand } from './stack-command.ts'

const given = (env: Record<string, string>, ...args: string[]) => stackCommand(args, env, '/project')

test('without anything, it starts at 8080 on data of its own, and hands nothing on', () => {
  const start = { kind: 'start', port: 8080, folder: '/project/.data/stack', settings: {}, surroundings: {} }
  expect(given({ HOME: '/root', AUTH_LIMITS_FACTOR: '1' })).toEqual(start)
  expect(given({ PORT: '', DATA_DIR: '', AUTH_OTLP_URL: '' })).toEqual(start)
})

describe('what is handed on', () => {
  const HANDED_ON = {
    settings: { AUTH_OTLP_URL: 'http://127.0.0.1:4318', RESOURCE_OTLP_URL: 'http://127.0.0.1:4319' },
    surroundings: { OTEL_EXPORTER_OTLP_HEADERS: 'key=1', OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem' },
  }

  test('is where traces go, and what the collector asks for', () => {
    expect(given({ ...HANDED_ON.settings, ...HANDED_ON.surroundings, DATA_DIR: 'there' })).toMatchObject({
      ...HANDED_ON,
      folder: '/project/there',
    })
  })

  test('is in the help, each by its name', () => {
    for (const flag of ['--help', '-h']) expect(given({}, flag)).toEqual({ kind: 'help' })
    for (const name of ['PORT', 'DATA_DIR', ...Object.values(HANDED_ON).flatMap(Object.keys)])
      expect(STACK_USAGE).toContain(name)
  })
})

test.for(['nine', '0', '65536', '8080.5', '-1'])('PORT=%s is a mistake that is named', (PORT) => {
  expect(given({ PORT })).toEqual({ kind: 'mistake', text: expect.stringMatching(/^PORT /) })
})

test.for(['--tracing', 'start'])('%s is nothing it knows, and it says what it knows', (arg) => {
  expect(given({}, arg)).toEqual({ kind: 'mistake', text: expect.stringContaining(STACK_USAGE) })
})
