import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readTemplate } from './read-template.ts'
import { serviceUrls } from './service-urls.ts'

const urls = serviceUrls('https://plainpath.example')
const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-template-'))
afterAll(() => rmSync(folder, { recursive: true }))

function template(text: string): URL {
  const file = path.join(folder, 'a.template.md')
  writeFileSync(file, text)
  return pathToFileURL(file)
}

test('placeholders become values, constants and addresses of the service', () => {
  const fillIn = readTemplate(
    template('{{name}} of {{count}}: {{urls.token}} {{name}}\n{"a": {"b": {}}}'),
    ['urls', 'name'],
    {
      count: 5,
    },
  )
  expect(fillIn({ urls, name: 'one' })).toBe(
    'one of 5: https://plainpath.example/oauth/token one\n{"a": {"b": {}}}',
  )
})

test('a value is inserted unchanged, even if it looks like a placeholder or a pattern', () => {
  const fillIn = readTemplate(template('<{{name}}> {{other}}'), ['name', 'other'])
  expect(fillIn({ name: '{{other}} $& $1', other: 'x' })).toBe('<{{other}} $& $1> x')
})

test.for([
  { why: 'a placeholder that has no value', text: '{{name}} {{nmae}}', says: 'unknown nmae' },
  { why: 'an address of a text that gets none', text: '{{name}} {{urls.base}}', says: 'unknown urls.base' },
  { why: 'a value without a placeholder', text: 'no name', says: 'unused name' },
  { why: 'a placeholder that is not closed', text: '{{name}} {{name', says: 'malformed' },
  { why: 'blanks in a placeholder', text: '{{name}} {{ name }}', says: 'malformed' },
])('$why is refused when the text is read', ({ text, says }) => {
  expect(() => readTemplate(template(text), ['name'])).toThrow(says)
})

test.for([
  {
    why: 'an address that the service does not have',
    text: '{{urls.base}} {{urls.nowhere}}',
    says: 'unknown urls.nowhere',
  },
  { why: 'a function of addresses', text: '{{urls.base}} {{urls.skill}}', says: 'unknown urls.skill' },
  { why: 'a text without an address', text: '', says: 'unused urls' },
])('$why is refused when the text is read', ({ text, says }) => {
  expect(() => readTemplate(template(text), ['urls'])).toThrow(says)
})

test('a constant without a placeholder is refused too', () => {
  expect(() => readTemplate(template(''), [], { count: 5 })).toThrow('unused count')
})
