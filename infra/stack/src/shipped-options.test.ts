import { expect, test } from 'vitest'
import { readShippedOptions } from './start-app.ts'

const entryPoint = (...words: string[]) => `ENTRYPOINT ${JSON.stringify(words)}\n`

test('reads the options between the program and its file', () => {
  const dockerfile = `FROM a\n${entryPoint('/node', '--one', '--two=2', 'a.ts')}CMD ["serve"]\n`
  expect(readShippedOptions(dockerfile)).toEqual(['--one', '--two=2'])
})

test.each([
  ['a Dockerfile without an entry point', 'FROM a\n', 'the Dockerfile has no entry point'],
  [
    'entry points with different options',
    entryPoint('/node', '--one', 'a.ts') + entryPoint('/node', 'b.ts'),
    'the apps are started under different options',
  ],
])('rejects %s', (_, dockerfile, message) => {
  expect(() => readShippedOptions(dockerfile)).toThrow(message)
})
