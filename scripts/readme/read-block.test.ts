import { expect, it } from 'vitest'
import { readBlock } from './read-block.ts'

const README = `# One

<!-- ci:test -->
\`\`\`bash
npm test
\`\`\`

<!-- ci:prose -->
Words first.

\`\`\`sh
npm start
\`\`\`

<!-- ci:twice -->
<!-- ci:twice -->
`

it('takes the block right after its comment', () => {
  expect(readBlock(README, 'ci:test')).toBe('npm test\n')
})

it.each([
  ['ci:none', 'README.md has no comment <!-- ci:none -->'],
  ['ci:prose', 'README.md has no block of commands right after <!-- ci:prose -->'],
  ['ci:twice', 'README.md has the comment <!-- ci:twice --> more than once'],
])('fails loudly for %s', (marker, message) => {
  expect(() => readBlock(README, marker)).toThrow(message)
})
