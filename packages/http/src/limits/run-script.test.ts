import { expect, test } from 'vitest'
import { runScript } from './redis-limit-store.ts'

const NAME = 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'

test('a script is run by its name, and in full where the server does not know it', async () => {
  const asked: string[] = []
  const known = async (name: string) => asked.push(name)
  await runScript('return 1', known, async () => asked.push('in full'))
  expect(asked).toEqual([NAME])
  const unknown = async () => {
    throw new Error('NOSCRIPT No matching script. Please use EVAL.')
  }
  expect(await runScript('return 1', unknown, async () => 'answered')).toBe('answered')
})

test('whatever else fails may have been run, and is not run again', async () => {
  const lost = async () => {
    throw new Error('Command timed out')
  }
  let again = 0
  await expect(runScript('return 1', lost, async () => (again += 1))).rejects.toThrow('timed out')
  expect(again).toBe(0)
})
