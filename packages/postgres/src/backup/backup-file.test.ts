import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBackupFile } from './backup-file.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-backup-file-'))
  file = path.join(folder, 'backup')
})
afterEach(() => rm(folder, { recursive: true }))

test('a backup gets its name only when it is finished, and only its owner may read it', async () => {
  {
    await using output = await createBackupFile(file)
    await output.write('{}')
    // A process that is killed here leaves this file.
    expect(await readdir(folder)).toEqual(['backup.unfinished'])
    expect((await stat(`${file}.unfinished`)).mode & 0o777).toBe(0o600)
    expect(await output.finish()).toBe((await stat(file)).size)
  }
  expect(await readdir(folder)).toEqual(['backup'])
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a backup that fails leaves no file', async () => {
  {
    await using output = await createBackupFile(file)
    await output.write('{}')
  }
  expect(await readdir(folder)).toEqual([])
})

test.for(['backup', 'backup.unfinished'])('an existing file %s is refused and stays', async (name) => {
  await writeFile(path.join(folder, name), 'existing')
  await expect(createBackupFile(file)).rejects.toMatchObject({ code: 'EEXIST', syscall: 'open' })
  expect(await readdir(folder)).toEqual([name])
  expect(await readFile(path.join(folder, name), 'utf8')).toBe('existing')
})

test('a file that somebody creates during the backup stays, and the backup fails', async () => {
  {
    await using output = await createBackupFile(file)
    await writeFile(file, 'existing')
    await expect(output.finish()).rejects.toMatchObject({ code: 'EEXIST' })
  }
  expect(await readdir(folder)).toEqual(['backup'])
  expect(await readFile(file, 'utf8')).toBe('existing')
})
