import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { findFeature, formatModelFile, readModelFile } from './model-file.ts'
import { loadSectionModel } from './sections/likely-sections.ts'
import { loadTriggerModel } from './triggers/likely-triggers.ts'

function writeAndRead(text: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-model-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'model.txt')
  writeFileSync(file, text)
  return readModelFile(pathToFileURL(file), z.strictObject({ sections: z.array(z.string()) }))
}

test('a model that was written is read again, with rarities of two decimals', () => {
  const model = writeAndRead(
    formatModelFile({ sections: ['a#intro'] }, [
      { name: 'w visa', rarity: 2.34567, weights: '0 12 1 7' },
      { name: 'b green card', rarity: 3, weights: '' },
    ]),
  )
  expect(model.sections).toEqual(['a#intro'])
  expect([...model.features.keys()]).toEqual(['b green card', 'w visa'])
  expect(findFeature(model.features, 'w visa')).toEqual({ name: 'w visa', rarity: 2.35, weights: '0 12 1 7' })
  expect(findFeature(model.features, 'w toString')).toBeUndefined()
})

test('a model with a wrong head is refused', () => {
  expect(() => writeAndRead('{"sections":"a"}\n')).toThrow(z.ZodError)
})

test.each([
  ['triggers', loadTriggerModel, /^\d+(?:\.\d+)?\t(?:[0-z][#-}])+$/],
  ['sections', loadSectionModel, /^\d+(?:\.\d+)?\t\d+ \d+(?: \d+ \d+)*$/],
] as const)('each row of the packaged model of %s is well-formed', (_model, load, form) => {
  const rows = [...load().features.values()]
  expect(rows.length).toBeGreaterThan(10_000)
  expect(rows.filter((row) => !form.test(row))).toEqual([])
})
