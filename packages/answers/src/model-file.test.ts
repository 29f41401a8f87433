import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type FeatureLines, findFeature, formatModelFile, readModelFile } from './model-file.ts'
import { loadSectionModel } from './sections/likely-sections.ts'
import { loadTriggerModel } from './triggers/likely-triggers.ts'

function writeAndRead(text: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-model-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'model.txt')
  writeFileSync(file, text)
  return readModelFile(pathToFileURL(file), z.strictObject({ sections: z.array(z.string()) }))
}

const listLines = ({ file, offsets }: FeatureLines) =>
  file.toString('utf8', offsets[0]).split('\n').slice(0, -1)

test('a written model can be read: its features are sorted, and rarities are rounded to two decimals', () => {
  // The first letter of a name is the kind of the feature: `w` for a word, `b` for two adjacent words, `h` for letters of a word.
  const model = writeAndRead(
    formatModelFile({ sections: ['a#intro'] }, [
      { name: 'w visa', rarity: 2.34567, weights: '0 12 1 7' },
      { name: 'b green card', rarity: 3, weights: '' },
    ]),
  )
  expect(model.sections).toEqual(['a#intro'])
  expect(listLines(model.features)).toEqual(['b green card\t3\t', 'w visa\t2.35\t0 12 1 7'])
  expect(findFeature(model.features, 'w visa')).toEqual({ name: 'w visa', rarity: 2.35, weights: '0 12 1 7' })
  expect(findFeature(model.features, 'w toString')).toBeUndefined()
})

test('each feature is found in a model, even if its name is a prefix of another or has non-ASCII characters', () => {
  const names = ['w a', 'w ab', 'w abc', 'w łodz', 'w 😀', 'w \uffff', 'b a b', 'h <a']
  const features = names.map((name, index) => ({ name, rarity: index, weights: `${index} 1` }))
  const model = writeAndRead(formatModelFile({ sections: [] }, features))
  expect(names.map((name) => findFeature(model.features, name))).toEqual(features)
  for (const name of ['', 'w', 'w abcd', 'a', 'z']) expect(findFeature(model.features, name)).toBeUndefined()
})

test('no feature is found in a model without features', () => {
  const model = writeAndRead(formatModelFile({ sections: ['a#intro'] }, []))
  expect(findFeature(model.features, 'w visa')).toBeUndefined()
})

test('a model with an invalid head is rejected', () => {
  expect(() => writeAndRead('{"sections":"a"}\n')).toThrow(z.ZodError)
})

test.each([
  // The weights of triggers are pairs of a class and a weight, one character each, as `formatWeights` writes them.
  ['trigger', loadTriggerModel, /^[^\t]+\t\d+(?:\.\d+)?\t(?:[0-z][#-}])+$/],
  ['section', loadSectionModel, /^[^\t]+\t\d+(?:\.\d+)?\t\d+ \d+(?: \d+ \d+)*$/],
] as const)(
  'each line of the packaged %s model is well-formed, and the names are sorted by their bytes',
  (_model, load, linePattern) => {
    const lines = listLines(load().features)
    expect(lines.length).toBeGreaterThan(10_000)
    expect(lines.filter((line) => !linePattern.test(line))).toEqual([])
    const names = lines.map((line) => Buffer.from(line.split('\t')[0] ?? ''))
    expect(names).toEqual(names.toSorted(Buffer.compare))
  },
)
