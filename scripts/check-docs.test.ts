import { expect, it } from 'vitest'
import { checkDocs } from './check-docs.ts'

const FILES = {
  'package.json': JSON.stringify({ scripts: { start: '', 'test:system': '' } }),
  'apps/auth/src/wire.ts': '',
  'apps/auth/README.md': '',
  'docs/storage.md': '# What is kept\n\n## Tables & lifetimes\n\n```\n# no heading\n```\n',
}
/** Checks a repository in memory with these files. */
const checkRepository = (files: Readonly<Record<string, string>>) =>
  checkDocs({
    files: Object.keys(files).toSorted(),
    read(file) {
      const content = files[file]
      if (content === undefined) throw new Error(`there is no ${file}`)
      return content
    },
  })
const checkMarkdown = (markdown: string, file = 'README.md') =>
  checkRepository({ ...FILES, [file]: markdown })

it.each([
  ['a link to a file', '[storage](docs/storage.md)'],
  ['a link to a heading', '[storage](docs/storage.md#tables--lifetimes)'],
  ['a link to a heading in the same file', '# Run it\n\n[up](#run-it)'],
  ['a link to a folder', '[auth](apps/auth/)'],
  ['a reference link', '[storage][1]\n\n[1]: docs/storage.md'],
  ['a link to another site', '[site](https://example.org/docs/none.md)'],
  ['paths of files and folders', 'See `apps/auth/src/wire.ts`, apps/auth, and docs/.'],
  ['a glob pattern that matches a path', '`apps/*/src/wire.ts` and `apps/{auth,local}/src`'],
  ['a glob pattern that ends with alternatives', 'See apps/{auth,local}, and `apps/auth/{src,test}`.'],
  ['a file name without its path, or a pattern for one', '`wire.ts` and `*-notes.md` and `w*.ts`'],
  ['an API path that begins like the path of a folder', 'GET /docs/none or `/apps/none`'],
  ['npm commands that package.json defines', 'Run `npm start`, then `npm run test:system`.'],
])('accepts %s', (_, markdown) => {
  expect(checkMarkdown(markdown)).toEqual([])
})

it.each([
  ['[storage](docs/store.md)', 'the link to docs/store.md leads nowhere'],
  ['[storage](docs/storage.md#no-heading)', 'the link to docs/storage.md#no-heading leads nowhere'],
  ['[up](#nowhere)', 'the link to #nowhere leads nowhere'],
  ['[1]: ../outside.md', 'the link to ../outside.md leads nowhere'],
  ['See apps/auth/src/wires.ts.', 'there is no apps/auth/src/wires.ts'],
  ['```\nnode scripts/none.ts\n```', 'there is no scripts/none.ts'],
  ['`apps/*/src/none.ts`', 'there is no apps/*/src/none.ts'],
  ['See apps/{local,none}.', 'there is no apps/{local,none}'],
  ['`wires.ts`', 'there is no wires.ts'],
  ['`npm run none -- --help`', 'package.json has no script none'],
  ['```sh\nnpm test\n```', 'package.json has no script test'],
])('reports for %j that %s', (markdown, violation) => {
  expect(checkMarkdown(markdown)).toContain(`README.md: ${violation}`)
})

it('resolves the paths in a package’s documents in the folder of the package', () => {
  expect(checkMarkdown('`src/wire.ts`', 'apps/auth/docs.md')).toEqual([])
  expect(checkMarkdown('`src/wires.ts`', 'apps/auth/docs.md')).toEqual([
    'apps/auth/docs.md: there is no apps/auth/src/wires.ts',
  ])
})

it('does not check the content of the guides', () => {
  expect(checkMarkdown('[form](forms/none.md) docs/none', 'packages/guides/content/visa.md')).toEqual([])
})

it('requires docs/README.md to link to every page in docs', () => {
  const files = {
    'package.json': '{"scripts":{}}',
    'docs/runbooks/flood.md': '# Flood',
    'docs/storage.md': '# Storage',
  }
  const checkIndex = (text: string) => checkRepository({ ...files, 'docs/README.md': text })
  expect(checkIndex('[flood](runbooks/flood.md#flood), [storage](storage.md)')).toEqual([])
  expect(checkIndex('[storage](storage.md)')).toEqual([
    'docs/README.md: does not link to docs/runbooks/flood.md',
  ])
})

it('counts a page as linked if the README.md of a linked folder links to it', () => {
  const files = {
    'package.json': '{"scripts":{}}',
    'docs/decisions/README.md': '[one](0001-one.md)',
    'docs/decisions/0001-one.md': '# One',
    'docs/decisions/0002-two.md': '# Two',
  }
  expect(checkRepository({ ...files, 'docs/README.md': '[decisions](decisions/README.md)' })).toEqual([
    'docs/README.md: does not link to docs/decisions/0002-two.md',
  ])
  expect(checkRepository({ ...files, 'docs/README.md': '[two](decisions/0002-two.md)' })).toEqual([
    'docs/README.md: does not link to docs/decisions/0001-one.md',
    'docs/README.md: does not link to docs/decisions/README.md',
  ])
})
