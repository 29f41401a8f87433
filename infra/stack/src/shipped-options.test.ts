import { expect, test } from 'vitest'
import { readShippedOptions } from './start-app.ts'

/** Formats an entry point of a Dockerfile: the program, its options and the file. */
const formatEntryPoint = (...args: string[]) => `ENTRYPOINT ${JSON.stringify(args)}\n`

test('readShippedOptions returns the options between the program and its file', () => {
  const dockerfile = `FROM a\n${formatEntryPoint('/node', '--one', '--two=2', 'a.ts')}CMD ["serve"]\n`
  expect(readShippedOptions(dockerfile)).toEqual(['--one', '--two=2'])
})

test.each([
  ['a Dockerfile without an entry point', 'FROM a\n', 'the Dockerfile has no entry point'],
  [
    'entry points with different options',
    formatEntryPoint('/node', '--one', 'a.ts') + formatEntryPoint('/node', 'b.ts'),
    'the apps are started with different options',
  ],
])('readShippedOptions rejects %s', (_, dockerfile, message) => {
  expect(() => readShippedOptions(dockerfile)).toThrow(message)
})
