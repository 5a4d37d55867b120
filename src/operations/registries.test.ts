import { describe, expect, it } from 'vitest';
import { chooseRegistry } from './registries.ts';

const NOTHING = { addresses: [], origin: 'nowhere' };

describe('where packages come from', () => {
  it('is what everybody uses where nobody says anything', () => {
    expect(chooseRegistry('pypi', [], NOTHING)).toEqual({
      addresses: ['https://pypi.org/simple'],
      hosts: ['pypi.org:443', 'files.pythonhosted.org:443'],
    });
    expect(chooseRegistry('npm', [], NOTHING)).toEqual({
      addresses: ['https://registry.npmjs.org/'],
      hosts: ['registry.npmjs.org:443'],
    });
  });

  it('is what this host uses, with its further indexes, and not the hosts that everybody uses', () => {
    const host = {
      addresses: ['http://a.example:8080/simple', 'https://b.example/simple'],
      origin: 'PIP_INDEX_URL',
    };
    expect(chooseRegistry('pypi', [], host)).toEqual({
      addresses: ['http://a.example:8080/simple', 'https://b.example/simple'],
      hosts: ['a.example:8080', 'b.example:443'],
    });
  });

  it('is what the settings say before all else; the first is the registry, and the hosts of all can be reached', () => {
    const host = {
      addresses: ['https://host.example/simple'],
      origin: 'PIP_INDEX_URL',
      certificates: { pem: 'PEM', trusted: 'instead' as const },
    };
    expect(chooseRegistry('pypi', ['https://set.example/simple', 'https://files.example'], host)).toEqual({
      addresses: ['https://set.example/simple'],
      hosts: ['set.example:443', 'files.example:443'],
      certificates: { pem: 'PEM', trusted: 'instead' },
    });
  });

  it.each([
    'https://user:secret@a.example/simple',
    'https://secret@a.example/simple',
    'https://a.example/simple?token=secret',
    'https://a.example/simple#secret',
    'file:///opt/secret',
    'git+https://a.example/secret',
    'secret',
    '',
  ])('is never %s, and nothing of it is told', (address) => {
    const refused = (): unknown =>
      chooseRegistry('pypi', [], { addresses: [address], origin: 'PIP_INDEX_URL' });
    expect(refused).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('PIP_INDEX_URL') }),
    );
    try {
      refused();
    } catch (error) {
      expect(JSON.stringify(error)).not.toContain('secret');
    }
  });
});
