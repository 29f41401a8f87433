import { expect, test } from 'vitest'
import { numberSources } from './guide-body.ts'
import { loadGuides } from './load-guides.ts'

const SOURCES = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]

test('numberSources numbers markers and sources in the order of their first occurrence', () => {
  const numbered = numberSources('One. [^b]\n\nTwo. [^a] [^b]', SOURCES)
  expect(numbered.body).toBe('One. [1]\n\nTwo. [2] [1]')
  expect(numbered.sources.map(({ id }) => id)).toEqual(['b', 'a', 'c'])
})

test('numberSources separates adjacent numbers, since [1][2] would be one link in Markdown', () => {
  expect(numberSources('One. [^a][^b]', SOURCES).body).toBe('One. [1] [2]')
})

test('numberSources formats numbers with a given function', () => {
  const formatMarker = (number: number, { id }: { id: string }) => `[${number}](#${id})`
  expect(numberSources('One. [^b]', SOURCES, formatMarker).body).toBe('One. [1](#b)')
})

test('numberSources throws an error that names a marker without a source', () => {
  expect(() => numberSources('One. [^z]', SOURCES)).toThrow('"z"')
})

test('numberSources leaves no marker in the guides of this package, and keeps every source', () => {
  for (const guide of loadGuides()) {
    const numbered = numberSources(guide.body, guide.sources)
    expect(numbered.body).not.toContain('[^')
    expect(new Set(numbered.sources)).toEqual(new Set(guide.sources))
  }
})
