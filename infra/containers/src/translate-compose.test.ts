import { readCompose } from '@plainpath/topology/read-manifests'
import { expect, test } from 'vitest'
import { translateNetworks, translateService } from './translate-compose.ts'

/*
 * Tests the translation of infra/compose.yaml to arguments of podman. The images and addresses are those of that file.
 */

const compose = readCompose({ PLAINPATH_PORT: '18080' })
const options = { composeFolder: '/repository/infra', secretsFolder: '/secrets' }

test('translates a hardened service, with its network address, limits, files, ports and variables', () => {
  const commandLine = translateService(compose, 'gateway', options).join(' ')
  expect(commandLine).toContain('--network plainpath_front:alias=gateway,ip=172.30.80.2')
  expect(commandLine).toContain(
    '--read-only --read-only-tmpfs=false --cap-drop=ALL --cap-add=NET_BIND_SERVICE',
  )
  expect(commandLine).toContain('--security-opt=no-new-privileges --ulimit=core=0:0')
  expect(commandLine).toContain('--volume /repository/infra/gateway/Caddyfile:/etc/caddy/Caddyfile:ro')
  expect(commandLine).toContain('--publish 127.0.0.1:18080:8080')
  expect(commandLine).toContain('--env PLAINPATH_ORIGIN=http://localhost:18080')
  expect(commandLine.endsWith(' docker.io/library/caddy:2.10.2')).toBe(true)
})

test('translates a job with its secrets, and replaces the command of another job', () => {
  const args = translateService(compose, 'auth-migrate', options)
  expect(args.slice(-2)).toEqual(['docker.io/plainpath/auth', 'migrate'])
  expect(args).toContain('/secrets/auth-owner.env')
  expect(args).toContain('/secrets/auth-kek:/run/secrets/auth-kek:ro')
  expect(translateService(compose, 'auth-keys', { ...options, command: ['keys', 'list'] }).slice(-2)).toEqual(
    ['keys', 'list'],
  )
})

test('keeps an empty argument when the command is given as a string', () => {
  expect(translateService(compose, 'redis', options)).toEqual(
    expect.arrayContaining(['--save', '', '--appendonly']),
  )
})

test('leaves out a variable that has no value', () => {
  expect(translateService(compose, 'auth-1', options).join(' ')).not.toContain('OTLP')
})

test('translates networks, with their internal flag, subnet and address range', () => {
  const networks = translateNetworks(compose).map((args) => args.join(' '))
  expect(networks).toContain('--internal plainpath_auth-postgres')
  expect(networks).toContain('--internal --subnet 172.30.80.0/24 --ip-range 172.30.80.128/25 plainpath_front')
  expect(networks).toContain('plainpath_edge')
})

test('rejects a service with a member that it cannot translate', () => {
  const services = { ...compose.services, redis: { ...compose.services['redis']!, privileged: true } }
  expect(() => translateService({ ...compose, services }, 'redis', options)).toThrow('privileged')
})
