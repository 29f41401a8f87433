import { expect, test } from 'vitest'
import { withNumberedSources } from './guide-body.ts'
import { loadGuides } from './load-guides.ts'

const SOURCES = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]

test('markers become numbers in the order in which they are met, and the sources follow', () => {
  const numbered = withNumberedSources('One. [^b]\n\nTwo. [^a] [^b]', SOURCES)
  expect(numbered.body).toBe('One. [1]\n\nTwo. [2] [1]')
  expect(numbered.sources.map(({ id }) => id)).toEqual(['b', 'a', 'c'])
})

test('numbers side by side are kept apart, since [1][2] would be one link in Markdown', () => {
  expect(withNumberedSources('One. [^a][^b]', SOURCES).body).toBe('One. [1] [2]')
})

test('a page writes them as it likes', () => {
  const mark = (number: number, { id }: { id: string }) => `[${number}](#${id})`
  expect(withNumberedSources('One. [^b]', SOURCES, mark).body).toBe('One. [1](#b)')
})

test('a marker that names no source is refused', () => {
  expect(() => withNumberedSources('One. [^z]', SOURCES)).toThrow('"z"')
})

test('no marker is left in the guides of this package, and no source is lost', () => {
  for (const guide of loadGuides()) {
    const numbered = withNumberedSources(guide.body, guide.sources)
    expect(numbered.body).not.toContain('[^')
    expect(new Set(numbered.sources)).toEqual(new Set(guide.sources))
  }
})
