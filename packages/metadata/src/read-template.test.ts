import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readTemplate } from './read-template.ts'
import { createServiceUrls } from './service-urls.ts'

const urls = createServiceUrls('https://plainpath.example')
const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-template-'))
afterAll(() => rmSync(folder, { recursive: true }))

function writeTemplate(text: string): URL {
  const file = path.join(folder, 'a.template.md')
  writeFileSync(file, text)
  return pathToFileURL(file)
}

test('a template is filled in with values, constants and service addresses', () => {
  const fillIn = readTemplate(
    writeTemplate('{{name}} of {{count}}: {{urls.token}} {{name}}\n{"a": {"b": {}}}'),
    ['urls', 'name'],
    {
      count: 5,
    },
  )
  expect(fillIn({ urls, name: 'one' })).toBe(
    'one of 5: https://plainpath.example/oauth/token one\n{"a": {"b": {}}}',
  )
})

test('a value is inserted unchanged, even if it looks like a placeholder or a replacement pattern', () => {
  const fillIn = readTemplate(writeTemplate('<{{name}}> {{other}}'), ['name', 'other'])
  expect(fillIn({ name: '{{other}} $& $1', other: 'x' })).toBe('<{{other}} $& $1> x')
})

test.for([
  { mistake: 'a placeholder that has no value', text: '{{name}} {{nmae}}', message: 'unknown nmae' },
  {
    mistake: 'a service address in a template that receives none',
    text: '{{name}} {{urls.base}}',
    message: 'unknown urls.base',
  },
  { mistake: 'a value without a placeholder', text: 'no name', message: 'unused name' },
  { mistake: 'a placeholder that is not closed', text: '{{name}} {{name', message: 'malformed' },
  { mistake: 'blanks in a placeholder', text: '{{name}} {{ name }}', message: 'malformed' },
])('readTemplate rejects $mistake', ({ text, message }) => {
  expect(() => readTemplate(writeTemplate(text), ['name'])).toThrow(message)
})

test.for([
  {
    mistake: 'an address that the service does not have',
    text: '{{urls.base}} {{urls.nowhere}}',
    message: 'unknown urls.nowhere',
  },
  {
    mistake: 'a function that creates addresses',
    text: '{{urls.base}} {{urls.skill}}',
    message: 'unknown urls.skill',
  },
  { mistake: 'a template without an address', text: '', message: 'unused urls' },
])('readTemplate rejects $mistake if the template receives service addresses', ({ text, message }) => {
  expect(() => readTemplate(writeTemplate(text), ['urls'])).toThrow(message)
})

test('readTemplate rejects a constant without a placeholder', () => {
  expect(() => readTemplate(writeTemplate(''), [], { count: 5 })).toThrow('unused count')
})
