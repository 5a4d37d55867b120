await Promise.reject(new RangeError('on purpose'));
