import { describe, expect, it } from 'vitest'
import { checkLibrary, checkMachine } from './machine.mjs'

const createMachine = (version: string) => ({ platform: 'linux', arch: 'x64', versions: { node: version } })

describe('the check of the machine', () => {
  it.each([createMachine('20.0.0'), createMachine('26.1.0'), { ...createMachine('24.21.0'), arch: 'arm64' }])(
    'accepts %j',
    (machine) => {
      expect(() => checkMachine(machine)).not.toThrow()
    },
  )

  it.each([
    [createMachine('18.20.4'), 'Plainpath needs Node 20 or newer to start; this is Node 18.20.4.'],
    [
      { ...createMachine('24.21.0'), platform: 'darwin' },
      'Plainpath runs on Linux (x64 or arm64, glibc); this is darwin x64.',
    ],
    [
      { ...createMachine('24.21.0'), arch: 'ia32' },
      'Plainpath runs on Linux (x64 or arm64, glibc); this is linux ia32.',
    ],
  ])('rejects %j with one line', (machine, message) => {
    expect(() => checkMachine(machine)).toThrow(message)
  })

  it('rejects another C library, and a version that is too old', () => {
    expect(() => checkLibrary('2.28')).not.toThrow()
    expect(() => checkLibrary('2.100')).not.toThrow()
    expect(() => checkLibrary('2.9')).toThrow('Plainpath needs glibc 2.28 or newer; this machine has 2.9.')
    expect(() => checkLibrary(undefined)).toThrow('Plainpath needs glibc; this Linux uses another C library.')
  })
})
